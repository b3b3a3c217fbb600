/** The panel on the admin application in this process, with a database of its own: for what needs no gateway. */
import { readPanelFiles, type PanelFiles } from '../../src/admin/panel/panel-files.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from './admin-application.js';
import { testDatabase } from './database.js';

export interface RunningPanel extends RunningAdmin {
  readonly database: DatabaseHandle;
  /** Origin of its pages. */
  readonly site: string;
}

/** The files of the panel, as the build made them. */
export function builtPanel(): PanelFiles {
  const panel = readPanelFiles('dist/panel');
  if (panel === null) throw new Error('dist/panel was not built');
  return panel;
}

/** Starts it on a free port. The caller closes it, and with it the database. */
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
