/** Renders text that may contain a URL, with line breaks between parts of the URL only. */
import { Fragment } from 'react';

const IS_ADDRESS = /^https?:\/\//;
/** Matches before each part of a URL, but not inside the `//` of its scheme. */
const PARTS = /(?<=[^/:])(?=[/.?&])/;

export function Breakable({ text }: { readonly text: string }) {
  if (!IS_ADDRESS.test(text)) return text;
  return text.split(PARTS).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
