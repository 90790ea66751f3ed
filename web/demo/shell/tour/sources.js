// Where the claims of each stop are from.
const he = ['He et al. 2015', 'https://arxiv.org/abs/1512.03385'];
const schoenholz = ['Schoenholz et al. 2017', 'https://arxiv.org/abs/1611.01232'];
const yang = ['Yang and Schoenholz 2017', 'https://arxiv.org/abs/1712.08969'];
const ba = ['Ba et al. 2016', 'https://arxiv.org/abs/1607.06450'];
const xiong = ['Xiong et al. 2020', 'https://arxiv.org/abs/2002.04745'];
const vaswani = ['Vaswani et al. 2017', 'https://arxiv.org/abs/1706.03762'];
const kaplan = ['Kaplan et al. 2020', 'https://arxiv.org/abs/2001.08361'];
const shazeer = ['Shazeer 2020', 'https://arxiv.org/abs/2002.05202'];
const zhangSennrich = ['Zhang and Sennrich 2019', 'https://arxiv.org/abs/1910.07467'];
const wang = ['Wang et al. 2022', 'https://arxiv.org/abs/2203.00555'];
const zhu = ['Zhu et al. 2025', 'https://arxiv.org/abs/2503.10622'];
const bachlechner = ['Bachlechner et al. 2020', 'https://arxiv.org/abs/2003.04887'];

/** By stop, from the first. */
export const SOURCES = [
  [he, schoenholz, yang],
  [ba, xiong],
  [xiong],
  [vaswani, kaplan],
  [shazeer],
  [zhangSennrich],
  [wang],
  [zhu, bachlechner],
];
