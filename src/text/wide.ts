/** The one owner of string-width. Loading it and its first use cost some 30 ms: text/width.ts does so only when needed. */
export { default as stringWidth } from 'string-width';
