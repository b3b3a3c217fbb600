/** Other people's text that may be an address: it goes on in the next line behind a part of it, and not in a word. */
import { Fragment } from 'react';

const IS_ADDRESS = /^https?:\/\//;
/** Before what begins a part of an address; the two slashes behind its scheme are none. */
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
