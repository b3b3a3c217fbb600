// Before a command of the program runs from the repository: builds dist/ when it is missing or older than its sources.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const built = `${root}dist/main.js`;

function newestChange(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  const entries = readdirSync(path).filter((name) => !name.endsWith('.spec.ts'));
  return Math.max(stat.mtimeMs, ...entries.map((name) => newestChange(`${path}/${name}`)));
}

const sources = ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'nest-cli.json', '.swcrc'];
const isStale = () => Math.max(...sources.map((path) => newestChange(root + path))) > statSync(built).mtimeMs;

if (!existsSync(built) || isStale()) {
  try {
    execFileSync('npm', ['run', '-s', 'build'], { cwd: root, stdio: 'pipe' });
  } catch (error) {
    process.stderr.write(`${error.stdout}${error.stderr}`);
    process.exitCode = 1;
  }
}
