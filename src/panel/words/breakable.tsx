/** Renders a text. In a URL, browsers may break the line before each part of the URL. */
import { Fragment } from 'react';

const URL_START = /^https?:\/\//;
/** Matches the position before each `/`, `.`, `?` and `&` of a URL, except in the `//` after its scheme. */
const PART_STARTS = /(?<=[^/:])(?=[/.?&])/;

export function Breakable({ text }: { readonly text: string }) {
  if (!URL_START.test(text)) return text;
  return text.split(PART_STARTS).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
