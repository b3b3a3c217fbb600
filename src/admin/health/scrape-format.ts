/** Chooses the format of a scrape. */
import { listTokens } from '../../http/grammar/fields.js';
import { OPEN_METRICS, PROTOBUF, TEXT, type Exposition } from '../../platform/metrics/exposition.js';

/** Media types with the parameter that tells their variants apart. */
const OFFERS = [
  { type: 'application/vnd.google.protobuf', parameter: 'encoding', value: 'delimited', exposition: PROTOBUF },
  { type: 'application/openmetrics-text', parameter: 'version', value: '1.0.0', exposition: OPEN_METRICS },
  { type: 'text/plain', parameter: 'version', value: '0.0.4', exposition: TEXT },
];

/**
 * Returns the format that an `Accept` header prefers (RFC 9110, section 12.5.1). Text if it names none of them, as in
 * Prometheus's own exporters.
 */
export function expositionFor(accept = ''): Exposition {
  let best = { exposition: TEXT, quality: 0 };
  for (const range of listTokens(accept)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const values = new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string]));
    const quality = Number(values.get('q') ?? 1);
    const offer = OFFERS.find((one) => one.type === type && (values.get(one.parameter) ?? one.value) === one.value);
    if (offer !== undefined && quality > best.quality) best = { exposition: offer.exposition, quality };
  }
  return best.exposition;
}
