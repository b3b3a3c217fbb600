/**
 * Builds the admin panel, and compresses its text files with Brotli and gzip, so that no response is compressed later.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Names of files to compress. HTML is not among them, because the page is generated for each response. */
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

/** Builds the panel of the project in `root` into the folder `target`. Rejects with the errors of Vite. */
export async function buildPanel(root, target) {
  // Imported lazily, because loading these takes a second and most builds do not rebuild the panel.
  const [{ build }, { viteConfig }] = await Promise.all([import('vite'), import('./vite.mjs')]);
  const config = viteConfig(root);
  await build({ ...config, build: { ...config.build, outDir: target, emptyOutDir: true } });
  await compress(target);
}
