const THEMES = ['auto', 'light', 'dark'];

export const nextTheme = (theme) => THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
