/** Entry point of the panel. Sets up language, theme and query client, then renders the app. */
import '@mantine/core/styles.css';
import { MantineProvider, localStorageColorSchemeManager } from '@mantine/core';
import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from './api/queries.js';
import { App } from './app.js';
import { PageBoundary } from './shell/page-boundary.js';
import { firstLocale, activateLocale } from './words/locale.js';
import './panel.css';
import { followOtherTabs } from './session/session.js';
import { theme, variables } from './theme.js';

const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? '';
// The scroll lock of dialogs adds a style element, for which the content security policy requires a nonce.
setNonce(nonce);
const colorScheme = localStorageColorSchemeManager({ key: 'trailgate-color-scheme' });
const root = document.getElementById('root');
followOtherTabs();
await activateLocale(firstLocale());
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <I18nProvider i18n={i18n}>
        <MantineProvider
          theme={theme}
          cssVariablesResolver={variables}
          defaultColorScheme="auto"
          colorSchemeManager={colorScheme}
          getStyleNonce={() => nonce}
        >
          <QueryClientProvider client={queries}>
            <PageBoundary at="">
              <App />
            </PageBoundary>
          </QueryClientProvider>
        </MantineProvider>
      </I18nProvider>
    </StrictMode>,
  );
