/** Starts the panel with the admin application in this process, on its own database. For tests without a gateway. */
import { readPanelFiles, type PanelFiles } from '../../src/admin/panel/panel-files.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from './admin-application.js';
import { testDatabase } from './database.js';

export interface RunningPanel extends RunningAdmin {
  readonly database: DatabaseHandle;
  /** Origin of the panel's pages. */
  readonly site: string;
}

/** Returns the built files of the panel. Throws if the panel was not built. */
export function builtPanel(): PanelFiles {
  const panel = readPanelFiles('dist/panel');
  if (panel === null) throw new Error('dist/panel was not built');
  return panel;
}

/** Starts the panel on a free port. The caller must close it, which also closes the database. */
export async function startPanel(options: Parameters<typeof startAdmin>[1] = {}): Promise<RunningPanel> {
  const database = await testDatabase('sqlite');
  const running = await startAdmin(database, { panel: builtPanel(), ...options });
  return {
    ...running,
    database,
    site: `http://localhost:${running.port}`,
    async close() {
      await running.close();
      await database.close();
    },
  };
}
