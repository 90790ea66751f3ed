// The page's dictionaries. English comes with the page, Chinese when it is wanted, those of panels with them.
import { signal } from '@preact/signals';
import en from './en.js';

/** Those that are there, by language. */
export const texts = signal({ en });

/** What became of the last one that could not be loaded, or null. */
export const textsError = signal(null);

const loaders = { zh: () => import('./zh.js') };
const added = []; // [name, { en, zh }]

/** Resolves when a language's texts are there or cannot be had. */
export async function loadTexts(language) {
  if (texts.peek()[language]) return;
  try {
    const own = (await loaders[language]()).default;
    for (const [name, byLanguage] of added) own[name] = byLanguage[language];
    texts.value = { ...texts.peek(), [language]: own };
    textsError.value = null;
  } catch (error) {
    textsError.value = error;
  }
}

/** Adds what a panel brings, before it is drawn. */
export function addTexts(name, byLanguage) {
  added.push([name, byLanguage]);
  for (const [language, own] of Object.entries(texts.peek())) own[name] = byLanguage[language];
}
