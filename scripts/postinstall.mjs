// npm 10 drops node_modules/.bin/node when several platform packages share that bin name; npm >= 11 keeps it.
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';

if (!existsSync('node_modules/.bin/node') && !process.env.npm_config_omit?.includes('optional')) {
  try {
    execSync('npm rebuild --ignore-scripts', { stdio: 'inherit' });
  } catch {
    // The system's Node stays in use; src/main.ts says so if it is too old.
  }
}
