/**
 * Chooses the format of a metrics response by the `Accept` header (RFC 9110, section 12.5.1). Unknown and invalid
 * headers get the text format.
 */
import { listTokens } from '../../http/grammar/fields.js';
import { OPEN_METRICS, PROTOBUF, TEXT, type Exposition } from '../../platform/metrics/exposition.js';

/** Offer is a format of the metrics. A media range may name its `parameters`, and must name those in `required`. */
interface Offer {
  readonly exposition: Exposition;
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly required: readonly string[];
}

/** Offered formats. Among formats of equal quality, the first format is preferred. */
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
  /** Weight of the media range, 0 to 1. An invalid weight becomes 0. */
  readonly quality: number;
}

/**
 * Returns the format that an `Accept` header prefers. Wildcards, and headers without an offered format, get the text
 * format, which every scraper can read. The exporters of Prometheus do the same.
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

/** Parses a media range, which must be in lower case. */
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
