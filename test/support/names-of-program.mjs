// Loaded into the program with `--import`. Resolves the host names in TRAILGATE_TEST_NAMES to the given IPv4 addresses.
// Format: `one.test=127.0.0.2+127.0.0.3,…`.
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

const names = new Map(
  process.env['TRAILGATE_TEST_NAMES'].split(',').map((entry) => {
    const [name, addresses] = entry.split('=');
    return [name, addresses.split('+').map((address) => ({ address, family: 4 }))];
  }),
);
const system = dns.lookup;

dns.lookup = (name, options, callback) => {
  const addresses = names.get(name);
  if (addresses === undefined) system(name, options, callback);
  else if (options.all === true) process.nextTick(callback, null, addresses);
  else process.nextTick(callback, null, addresses[0].address, 4);
};
syncBuiltinESMExports();
