// Loaded into the program with `--import`: collects garbage twice a second, so that its memory is what it holds.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
setInterval(runInNewContext('gc'), 500).unref();
