/**
 * Draws a QR code. The code is always dark on light, because some scanners cannot read light on dark. Renders nothing
 * if the text is too long.
 */
import { useMemo } from 'react';
import { qrModules } from './qr-modules.js';

export function QrPicture({ text, label }: { readonly text: string; readonly label: string }) {
  const modules = useMemo(() => qrModules(text), [text]);
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
