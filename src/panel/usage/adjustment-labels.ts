/** Texts that describe quota adjustments, in the language of the page. */
import { useLingui } from '@lingui/react/macro';
import type { components } from '../api/admin-api.js';
import { useFormats } from '../words/times.js';

type Adjustment = components['schemas']['QuotaAdjustment'];

/** Returns a function that describes the effect of an adjustment. */
export function useAdjustmentLabel(): (adjustment: Pick<Adjustment, 'type' | 'amount'>) => string {
  const { t } = useLingui();
  const { number } = useFormats();
  return ({ type, amount }) => {
    const count = number(amount ?? 0);
    if (type === 'grant') return t`${count} more until the month ends`;
    return type === 'set' ? t`Usage set to ${count}` : t`Usage reset to zero`;
  };
}
