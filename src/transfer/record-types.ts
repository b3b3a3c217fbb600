/** Types of records. Each type refers only to types before it, so imports process them in this order. */
export const RECORD_TYPES = [
  'account',
  'api_key',
  'member',
  'webhook_endpoint',
  'quota_adjustment',
  'month_count',
] as const;

export type RecordType = (typeof RECORD_TYPES)[number];
