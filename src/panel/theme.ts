/** Mantine theme of the panel: colors, fonts and shapes. Texts have WCAG AA contrast in light and dark mode. */
import {
  Alert,
  Badge,
  Button,
  Card,
  createTheme,
  defaultVariantColorsResolver,
  NavLink,
  Table,
  type CSSVariablesResolver,
  type MantineColorsTuple,
} from '@mantine/core';

/** Shades of the primary color, from light to dark. */
const river: MantineColorsTuple = [
  '#e8f6f5',
  '#d0eae8',
  '#a5d6d2',
  '#74c0ba',
  '#4dada6',
  '#2f9a93',
  '#1a857f',
  '#0e6f6b',
  '#0b5c59',
  '#084a48',
];

/** Grays of the dark mode, from the text color to the background color. */
const dark: MantineColorsTuple = [
  '#dbe3e6',
  '#b8c4c9',
  '#97a5ab',
  '#6d7c83',
  '#46545a',
  '#334046',
  '#253036',
  '#182126',
  '#131b1f',
  '#0e1417',
];

/**
 * Shades of orange. In light mode, the light variant shows text in the last shade on the second shade, so these two
 * need enough contrast.
 */
const orange: MantineColorsTuple = [
  '#fff4e6',
  '#ffe8cc',
  '#ffd8a8',
  '#ffc078',
  '#ffa94d',
  '#ff922b',
  '#e8790b',
  '#c2570a',
  '#a8480a',
  '#853a0a',
];

/** Shades of red. As for `orange`, the last shade is readable on the second shade. */
const red: MantineColorsTuple = [
  '#fff5f5',
  '#ffe3e3',
  '#ffc9c9',
  '#ffa8a8',
  '#ff8787',
  '#f06464',
  '#d63939',
  '#b62525',
  '#9f1d1d',
  '#8a1717',
];

/**
 * Overrides CSS variables of Mantine, so that text, placeholders, errors, links and disabled buttons have enough
 * contrast.
 */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#53636a',
    '--mantine-color-placeholder': '#65757c',
    '--mantine-color-error': '#b3261e',
    '--mantine-color-text': '#14201f',
  },
  dark: {
    '--mantine-color-dimmed': '#a3b3ba',
    '--mantine-color-placeholder': '#8fa0a7',
    '--mantine-color-error': '#ffa59e',
    '--mantine-color-anchor': '#74c0ba',
    // Mantine's default for disabled buttons is the background color of cards, on which the buttons would be invisible.
    '--mantine-color-disabled': '#334046',
    '--mantine-color-disabled-color': '#97a5ab',
  },
});

export const theme = createTheme({
  colors: { river, dark, orange, red },
  primaryColor: 'river',
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily: 'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  headings: {
    fontWeight: '650',
    sizes: { h1: { fontSize: '1.625rem', lineHeight: '1.25' }, h2: { fontSize: '1.125rem' }, h3: { fontSize: '1rem' } },
  },
  // The light variant shows text in the darkest shade, and in dark mode in a light shade, so that the text is readable.
  variantColorResolver: (input) => {
    const colors = defaultVariantColorsResolver(input);
    if (input.variant !== 'light' || input.color === undefined) return colors;
    return {
      ...colors,
      color: `light-dark(var(--mantine-color-${input.color}-9), var(--mantine-color-${input.color}-2))`,
    };
  },
  components: {
    Button: Button.extend({ defaultProps: { fw: 600 } }),
    Badge: Badge.extend({ defaultProps: { tt: 'none', fw: 600, radius: 'sm' } }),
    Card: Card.extend({ defaultProps: { withBorder: true, padding: 'lg', radius: 'lg' } }),
    NavLink: NavLink.extend({ defaultProps: { variant: 'light' } }),
    Alert: Alert.extend({ defaultProps: { radius: 'md' } }),
    Table: Table.extend({ defaultProps: { verticalSpacing: 'sm', horizontalSpacing: 'md' } }),
  },
});
