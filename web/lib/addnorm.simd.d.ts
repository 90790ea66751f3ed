/** addnorm.simd.wasm, deflated and in base64. build-lib.js makes it. */
export const simd: string;
