/** Load: the cost of request logs, with one account that makes all requests, and with 100 accounts. */
import { SCOPE } from '../keys.mjs';
import { aimLine, COLUMNS, fixed, notesOf, tableOf } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

const AIM_SHARE = 0.02;
/** Number of keys, with ten keys per account. */
const SCENES = { 'one account': 10, '100 accounts': 1_000 };

export const title = 'Request logs';

export async function measure(settings) {
  const rows = [];
  for (const [name, count] of Object.entries(SCENES)) {
    for (const requestLogRetention of ['off', '7d']) {
      const id = `${name}, ${requestLogRetention === 'off' ? 'off' : 'on'}`;
      const groups = { plain: { count, plan: 'bench', scope: SCOPE } };
      const service = { accountShare: 1 };
      const scene = { name: `logs-${count}-${requestLogRetention}`, groups, service, usage: { requestLogRetention } };
      rows.push({ id, title: id, gateway: await openScene(scene) });
    }
  }
  return { rows: await measureRows(rows, settings) };
}

export function table({ rows }) {
  const withoutOf = (row) => rows[Math.floor(rows.indexOf(row) / 2) * 2];
  const share = (row) => row.lowestCpu / withoutOf(row).lowestCpu;
  const worst = Math.max(...rows.map(share)) - 1;
  return [
    tableOf('request logs', rows, { ...COLUMNS, 'against off': (row) => fixed(share(row), 3) }),
    aimLine('they cost no more than 2 % CPU', `${fixed(worst * 100)} %`, worst <= AIM_SHARE),
    ...notesOf(rows),
  ].join('\n\n');
}
