/** Decorative SVG icons beside labels. Screen readers skip the icons. */
const PATHS = {
  key: 'M8 19.500a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM11 12.7 20 3.500M16 7.500l3 3M13.5 10l2 2',
  usage: 'M4 20h16M7 20v-7M12 20V5M17 20v-10',
  logs: 'M5 6h14M5 12h14M5 18h9',
  explain: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM9.6 9.2a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.2.9-1.2 1.7M12 16.6h.01',
  webhook: 'M10 7a3 3 0 1 1 4.5 2.600L18 15M8 12.500A4 4 0 1 0 10 18h6M18 21a3 3 0 1 0 0-6 3 3 0 0 0-2 .8M12 7l-4 9',
  audit: 'M7 3h8l4 4v14H7zM14 3v5h5M10 13h6M10 17h6',
  members: 'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20q1-5 6.5-5t6.5 5M17 11a3 3 0 0 0 0-6M18 15q3 1 3.6 5',
  account: 'M4 20V8l8-4 8 4v12M9 20v-6h6v6M2.5 20h19',
  accounts: 'M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z',
  adjust: 'M5 7h8M17 7h2M5 12h2M11 12h8M5 17h9M18 17h1M15 5v4M9 10v4M16 15v4',
  health: 'M3 12h4l2.5-6 4 12 2.5-6h5',
  plus: 'M12 5v14M5 12h14',
  copy: 'M9 9h10v11H9zM15 9V4H5v11h4',
  check: 'M5 12.500l4.5 4.500L19 7.5',
  rotate: 'M20 12a8 8 0 1 1-2.6-5.900M20 3v4.500h-4.5',
  pause: 'M9 6v12M15 6v12',
  play: 'M8 5.500v13l11-6.500z',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5',
  pencil: 'M5 19l1-4L16 5l3 3L9 18zM14 7l3 3',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM16 16l5 5',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 3v2M12 19v2M3 12h2M19 12h2M6 6l1 1M17 17l1 1M18 6l-1 1M7 17l-1 1',
  moon: 'M19.5 14.500A8 8 0 0 1 9.5 4.500a8 8 0 1 0 10 10Z',
  screen: 'M4 5h16v11H4zM9 20h6M12 16v4',
  globe: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM3 12h18M12 3c5 5.5 5 12.5 0 18M12 3c-5 5.5-5 12.5 0 18',
  leave: 'M10 4H5v16h5M15 8l4 4-4 4M19 12H9',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM5 20c.8-3.6 3.5-5.5 7-5.500s6.2 1.9 7 5.5',
  down: 'M6 9l6 6 6-6',
  left: 'M15 6l-6 6 6 6',
  warn: 'M12 4l9 16H3zM12 10v4.500M12 17.500h.01',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  assistant: 'M5 9h14v10H5zM12 9V5M12 5h.01M9 13.500v1M15 13.500v1M2.500 13v3M21.500 13v3',
  download: 'M12 4v11M7.5 11l4.5 4.5 4.5-4.500M5 20h14',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
