// Before anything is painted: a page that is dark does not flash in white.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem('trailgate-color-scheme');
  } catch {
    // No storage: as the system has it.
  }
  const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
})();
