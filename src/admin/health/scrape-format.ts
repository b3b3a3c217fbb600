/** Chooses the format of a scrape by content negotiation (RFC 9110, section 12.5.1). */
import { listTokens } from '../../http/grammar/fields.js';
import { OPEN_METRICS, PROTOBUF, TEXT, type Exposition } from '../../platform/metrics/exposition.js';

/** An offered format. A media range may name its `parameters`, and must name those in `required`. */
interface Offer {
  readonly exposition: Exposition;
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly required: readonly string[];
}

/** In order of preference between equal qualities. */
const OFFERS: readonly Offer[] = [
  {
    exposition: PROTOBUF,
    type: 'application/vnd.google.protobuf',
    parameters: { proto: 'io.prometheus.client.metricfamily', encoding: 'delimited' },
    required: ['proto', 'encoding'],
  },
  {
    exposition: OPEN_METRICS,
    type: 'application/openmetrics-text',
    parameters: { version: '1.0.0', charset: 'utf-8' },
    required: [],
  },
  { exposition: TEXT, type: 'text/plain', parameters: { version: '0.0.4', charset: 'utf-8' }, required: [] },
];

interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  /** 0 to 1. 0 for an invalid quality. */
  readonly quality: number;
}

/**
 * Returns the format that an `Accept` header prefers. A wildcard stands for text, which every scraper can read, as in
 * Prometheus's own exporters. So does a header that names no offered format.
 */
export function expositionFor(accept = ''): Exposition {
  let best = { exposition: TEXT, quality: 0 };
  const ranges = listTokens(accept).map(readRange);
  for (const offer of OFFERS) {
    const quality = Math.max(0, ...ranges.filter((range) => names(range, offer)).map((range) => range.quality));
    if (quality > best.quality) best = { exposition: offer.exposition, quality };
  }
  return best.exposition;
}

/** Returns a media range in lower case. */
function readRange(text: string): MediaRange {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  const parameters = new Map(
    rest.map((part) => {
      const [name = '', value = ''] = part.split('=', 2);
      return [name.trim(), value.trim().replaceAll('"', '')];
    }),
  );
  const quality = Number(parameters.get('q') ?? 1);
  parameters.delete('q');
  return { type, parameters, quality: quality >= 0 && quality <= 1 ? quality : 0 };
}

function names({ type, parameters }: MediaRange, offer: Offer): boolean {
  if (offer.exposition === TEXT && (type === '*/*' || type === 'text/*')) return true;
  return (
    type === offer.type &&
    offer.required.every((name) => parameters.has(name)) &&
    [...parameters].every(([name, value]) => offer.parameters[name] === undefined || offer.parameters[name] === value)
  );
}
