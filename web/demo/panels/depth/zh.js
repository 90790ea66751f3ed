// 深度面板的中文文字。
export default {
  title: '深度',
};
