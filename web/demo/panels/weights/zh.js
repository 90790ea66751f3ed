// 真实权重面板的中文文字。
export default {
  title: '真实权重',
};
