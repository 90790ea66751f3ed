// 训练面板的中文文字。
export default {
  title: '训练',
};
