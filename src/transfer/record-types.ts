/** Types of records, in the order in which they refer to each other. */
export const RECORD_TYPES = [
  'account',
  'api_key',
  'member',
  'webhook_endpoint',
  'quota_adjustment',
  'month_count',
] as const;

export type RecordType = (typeof RECORD_TYPES)[number];
