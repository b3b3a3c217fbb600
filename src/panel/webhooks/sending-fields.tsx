/** Collapsible form fields for the delivery settings of a webhook endpoint: retries, rate, concurrency and timeout. */
import { Button, Collapse, Group, Radio, Stack, TagsInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useDisclosure } from '@mantine/hooks';
import { useFieldError, useHasErrors } from '../layout/form-errors.js';
import { NumberField } from '../layout/number-field.js';
import { Icon } from '../layout/icons.js';
import { EMPTY, type EndpointValues } from './endpoint-values.js';

interface SendingFieldsProps {
  readonly values: EndpointValues;
  readonly onChange: (change: Partial<EndpointValues>) => void;
}

export function SendingFields(props: SendingFieldsProps) {
  const { retries, ratePerSecond, concurrency, timeoutSeconds } = props.values;
  const isSet = retries !== EMPTY.retries || [ratePerSecond, concurrency, timeoutSeconds].some((each) => each !== '');
  const [isWanted, { toggle }] = useDisclosure(isSet);
  const errors = ['retry_schedule', 'rate_per_second', 'concurrency', 'timeout_ms'];
  // An error in the section keeps the section open.
  const isOpen = useHasErrors(errors) || isWanted;
  return (
    <div>
      <Button
        variant="subtle"
        size="sm"
        px={4}
        aria-expanded={isOpen}
        rightSection={<Icon name="down" size={16} />}
        onClick={toggle}
      >
        <Trans>Delivery settings</Trans>
      </Button>
      <Collapse expanded={isOpen}>
        <Stack gap="md" pt="sm">
          <Retries {...props} />
          <Pace {...props} />
        </Stack>
      </Collapse>
    </div>
  );
}

function Retries({ values, onChange }: SendingFieldsProps) {
  const { t } = useLingui();
  const error = useFieldError('retry_schedule');
  return (
    <Radio.Group
      label={t`Retries`}
      value={values.retries}
      error={values.retries === 'own' ? undefined : error}
      onChange={(value) => onChange({ retries: value as EndpointValues['retries'] })}
    >
      <Stack gap={10} pt={8}>
        <Radio value="usual" label={t`Default (10 attempts over 3 days)`} />
        <Radio value="none" label={t`Never`} description={t`You can resend events by hand.`} />
        <Radio value="own" label={t`Custom retry schedule`} />
        {values.retries === 'own' && (
          <TagsInput
            label={t`Retry delays`}
            description={t`For example 30s, 5m or 2h. Press Enter to add.`}
            placeholder={values.pauses.length === 0 ? '30s' : ''}
            value={[...values.pauses]}
            error={error}
            splitChars={[',', ' ']}
            allowDuplicates
            acceptValueOnBlur
            onChange={(pauses) => onChange({ pauses })}
          />
        )}
      </Stack>
    </Radio.Group>
  );
}

function Pace({ values, onChange }: SendingFieldsProps) {
  const { t } = useLingui();
  return (
    <Group grow align="flex-start" preventGrowOverflow={false}>
      <NumberField
        field="rate_per_second"
        label={t`Max per second`}
        placeholder="50"
        miw={150}
        value={values.ratePerSecond}
        onChange={(ratePerSecond) => onChange({ ratePerSecond })}
      />
      <NumberField
        field="concurrency"
        label={t`Max concurrent`}
        placeholder="8"
        miw={150}
        value={values.concurrency}
        onChange={(concurrency) => onChange({ concurrency })}
      />
      <NumberField
        field="timeout_ms"
        label={t`Timeout (seconds)`}
        placeholder={t`Default`}
        miw={150}
        value={values.timeoutSeconds}
        onChange={(timeoutSeconds) => onChange({ timeoutSeconds })}
      />
    </Group>
  );
}
