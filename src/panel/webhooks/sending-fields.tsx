/** How an endpoint is sent to, for receivers that want it otherwise: attempts, pace, patience. */
import { Button, Collapse, Group, NumberInput, Radio, Stack, TagsInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useDisclosure } from '@mantine/hooks';
import { Icon } from '../layout/icons.js';
import { EMPTY, type EndpointValues } from './endpoint-values.js';
import { secondsOf } from './pauses.js';

interface SendingFieldsProps {
  readonly values: EndpointValues;
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (change: Partial<EndpointValues>) => void;
}

const numberOf = (value: string | number): number | '' => (typeof value === 'number' ? value : '');

export function SendingFields(props: SendingFieldsProps) {
  const { retries, ratePerSecond, concurrency, timeoutSeconds } = props.values;
  const isSet = retries !== EMPTY.retries || [ratePerSecond, concurrency, timeoutSeconds].some((each) => each !== '');
  const [isOpen, { toggle }] = useDisclosure(isSet);
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
        <Trans>How it is sent</Trans>
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

function Retries({ values, errorOf, onChange }: SendingFieldsProps) {
  const { t } = useLingui();
  const isWrong = values.pauses.length > 0 && secondsOf(values.pauses) === null;
  return (
    <Radio.Group
      label={t`What fails is sent again`}
      value={values.retries}
      onChange={(value) => onChange({ retries: value as EndpointValues['retries'] })}
    >
      <Stack gap={10} pt={8}>
        <Radio value="usual" label={t`As usual: ten attempts in about three days`} />
        <Radio value="none" label={t`Not at all`} description={t`It can be sent again by hand.`} />
        <Radio value="own" label={t`After pauses of its own`} />
        {values.retries === 'own' && (
          <TagsInput
            label={t`Pauses`}
            description={t`Such as 30s, 5m or 2h. Press Enter after each one.`}
            placeholder={values.pauses.length === 0 ? '30s' : ''}
            value={[...values.pauses]}
            error={
              isWrong || errorOf('retry_schedule') !== undefined
                ? t`Write at most 20 pauses, none longer than a day, and all together at most seven days.`
                : undefined
            }
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

function Pace({ values, errorOf, onChange }: SendingFieldsProps) {
  const { t } = useLingui();
  const whole = { allowDecimal: false, min: 1, clampBehavior: 'blur' } as const;
  return (
    <Group grow align="flex-start" preventGrowOverflow={false}>
      <NumberInput
        {...whole}
        label={t`Most in a second`}
        placeholder="50"
        max={1_000}
        miw={150}
        value={values.ratePerSecond}
        error={errorOf('rate_per_second')}
        onChange={(value) => onChange({ ratePerSecond: numberOf(value) })}
      />
      <NumberInput
        {...whole}
        label={t`Most at a time`}
        placeholder="8"
        max={50}
        miw={150}
        value={values.concurrency}
        error={errorOf('concurrency')}
        onChange={(value) => onChange({ concurrency: numberOf(value) })}
      />
      <NumberInput
        {...whole}
        allowDecimal
        decimalScale={3}
        label={t`Seconds to respond`}
        placeholder={t`As usual`}
        max={30}
        miw={150}
        value={values.timeoutSeconds}
        error={errorOf('timeout_ms')}
        onChange={(value) => onChange({ timeoutSeconds: numberOf(value) })}
      />
    </Group>
  );
}
