/**
 * The order of test files: what stands beside the source first, since it is quick; then the large before the small, so that none is begun
 * late that takes long. In CI a tenth of the files goes last, another tenth each day: what there is no time left for is never the same.
 */
import Sequencer from '@jest/test-sequencer';
import { orderOf } from './run-summary.ts';

const DAY_MS = 86_400_000;

export default class InOrder extends Sequencer {
  sort(tests) {
    const day = process.env.CI === undefined ? undefined : Math.floor(Date.now() / DAY_MS);
    const known = new Map(super.sort([...tests]).map((test, index) => [test.path, index]));
    const { rootDir } = [...tests][0]?.context.config ?? { rootDir: '' };
    return [...tests].toSorted((one, other) => {
      const place = ({ path }) => orderOf(path.slice(rootDir.length + 1), day);
      return place(one) - place(other) || known.get(one.path) - known.get(other.path);
    });
  }
}
