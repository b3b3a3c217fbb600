/** A QR code as a picture, dark on light in every color scheme: not all scanners read the reverse. */
import { useMemo } from 'react';
import { encode } from 'uqr';

/** Modules of light around it, as the standard asks. */
const QUIET = 4;
/** A larger code has modules too small to scan: such a text is typed. */
const MAX_VERSION = 20;

/** Returns the rows of modules, dark ones true; null for a text that is too long. The page itself draws: nothing is sent for it. */
function modulesOf(text: string): readonly (readonly boolean[])[] | null {
  try {
    return encode(text, { border: QUIET, maxVersion: MAX_VERSION }).data;
  } catch {
    return null;
  }
}

export function QrPicture({ text, label }: { readonly text: string; readonly label: string }) {
  const modules = useMemo(() => modulesOf(text), [text]);
  if (modules === null) return null;
  const width = modules.length;
  const path = modules.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${width} ${width}`} className="qr" shapeRendering="crispEdges">
      <rect width={width} height={width} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
