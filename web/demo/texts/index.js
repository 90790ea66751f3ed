import en from './en.js';
import zh from './zh.js';

export const texts = { en, zh };
