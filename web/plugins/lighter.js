// What uPlot does when it is loaded and the page never needs: a number format for axes without texts of their own, and the
// name of the time zone. The first of each costs a page 30 ms and more, and the number format fails where the system's
// language is "C", as in a bare container.
const REPLACED = [
  [
    "const numFormatter = new Intl.NumberFormat(domEnv ? nav.language : 'en-US');",
    'const numFormatter = { format: (value) => new Intl.NumberFormat().format(value) };',
  ],
  ['const localTz = new Intl.DateTimeFormat().resolvedOptions().timeZone;', "const localTz = '';"],
];

export const lighterLibraries = {
  name: 'lighter-libraries',
  transform(code, id) {
    if (!id.endsWith('/uPlot.esm.js')) return null;
    let lighter = code;
    for (const [eager, lazy] of REPLACED) {
      if (!code.includes(eager)) this.error(`uPlot has no longer what web/plugins/lighter.js replaces: ${eager}`);
      lighter = lighter.replace(eager, lazy);
    }
    return { code: lighter, map: null };
  },
};
