// The Depth panel in English. Every key stands in zh.js too.
export default {
  title: 'Depth',
};
