// The stops of the guided tour: the link of each, which says its whole state but for how the page looks. No DOM.
export const LINKS = [
  'panel=depth&c=Without,placement:none,residual:off&c=With,placement:none',
  'panel=depth&c=No%20norm,placement:none&c=Pre-Norm,preset:pre_norm&c=Post-Norm,preset:post_norm',
  'panel=depth&c=Post-Norm,preset:post_norm&c=Pre-Norm,preset:pre_norm',
  'panel=speed&c=1%C3%97,preset:pre_norm,d_ff:128&c=2%C3%97,preset:pre_norm,d_ff:256&c=4%C3%97,preset:pre_norm,d_ff:512&c=8%C3%97,preset:pre_norm,d_ff:1024',
  'panel=forward&c=GELU,preset:pre_norm&c=SwiGLU,preset:pre_norm,activation:silu,gated:on,d_ff:341',
  'panel=speed&c=LayerNorm,preset:pre_norm&c=RMSNorm,preset:pre_norm,norm:rms_norm',
  'panel=depth&blocks=48&c=Post-Norm,preset:post_norm&c=DeepNorm,preset:deepnorm&c=Pre-Norm,preset:pre_norm',
  'panel=depth&c=LayerNorm,preset:pre_norm&c=DyT,preset:dyt&c=ReZero,preset:rezero',
];
