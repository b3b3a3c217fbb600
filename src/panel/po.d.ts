/** Catalogues of words as the build hands them over. */
declare module '*.po' {
  export const messages: import('@lingui/core').Messages;
}
