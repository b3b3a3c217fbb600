// Loaded into the program with `--import`. Collects garbage twice a second, so that memory measurements include no
// garbage.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
setInterval(runInNewContext('gc'), 500).unref();
