// npm 10 drops node_modules/.bin/node when several platform packages share that bin name; npm >= 11 keeps it.
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

// This runs in the folder of the package. As a dependency, that is `node_modules/trailgate` of another project.
const parent = dirname(process.cwd());
const root = basename(parent) === 'node_modules' ? dirname(parent) : process.cwd();
if (!existsSync(join(root, 'node_modules/.bin/node')) && !process.env.npm_config_omit?.includes('optional')) {
  try {
    execSync('npm rebuild --ignore-scripts', { cwd: root, stdio: 'inherit' });
  } catch {
    // The system's Node stays in use; src/main.ts says so if it is too old.
  }
}
