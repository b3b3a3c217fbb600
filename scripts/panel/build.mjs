/** Builds the panel into a folder, each file of text beside its compressed forms: nothing is compressed while it is served. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** What is worth compressing; the page itself is made anew for each response. */
const TEXT = /\.(?:js|css|svg|json|txt)$/;

async function compress(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && TEXT.test(entry.name) && !entry.parentPath.endsWith('.vite'))
    .map((entry) => join(entry.parentPath, entry.name));
  await Promise.all(
    files.map(async (file) => {
      const bytes = readFileSync(file);
      const [br, gz] = await Promise.all([
        promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
        promisify(gzip)(bytes, { level: 9 }),
      ]);
      writeFileSync(`${file}.br`, br);
      writeFileSync(`${file}.gz`, gz);
    }),
  );
}

/** Builds the panel of the project in `root` into `target`. Throws what Vite says where it fails. */
export async function buildPanel(root, target) {
  // Only here: most builds have no panel to build, and these take a second to load.
  const [{ build }, { viteConfig }] = await Promise.all([import('vite'), import('./vite.mjs')]);
  const config = viteConfig(root);
  await build({ ...config, build: { ...config.build, outDir: target, emptyOutDir: true } });
  await compress(target);
}
