// What is served beside the page, by its address. Where the page is one file, the build puts the files themselves here.

/** A file of trained weights; `base` is the page's address. */
export const modelAddress = (file, base) => new URL(`models/${file}`, base);

/** The attributes of a link to the notices. */
export const notices = { href: './NOTICE.txt' };

/**
 * The attributes of a link to the API reference, which `npm run build` puts beside the page; null where there is none, in the
 * dev server and where the page is one file.
 */
export const reference = import.meta.env?.DEV ? null : { href: './api/index.html' };

export const isOneFile = false;
