// 激活函数面板的中文文字。
export default {
  title: '激活函数',
};
