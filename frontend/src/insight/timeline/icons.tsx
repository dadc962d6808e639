/** Small drawings on buttons; each button says in words what it does. */

const PATHS = {
  pin: "M6 1.5h4l-.6 5 2.1 2.5h-7l2.1-2.5zM8 9v5.5",
  hide: "M1.5 8s2.4-4.2 6.5-4.2S14.500 8 14.500 8s-2.400 4.200-6.500 4.200S1.500 8 1.500 8zM8 6.200a1.800 1.800 0 1 0 .01 0M2.500 13.500l11-11",
  open: "M3.500 6l4.500 4.500L12.500 6",
  closed: "M6 3.500L10.500 8L6 12.500",
  deep: "M8 2.500v11M4.500 10L8 13.500L11.500 10",
  shallow: "M8 13.500v-11M4.500 6L8 2.500L11.500 6",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  back: "M6.500 3.500L3 7l3.500 3.500M3 7h6.500a3.500 3.500 0 0 1 0 7H7",
  all: "M2 5V2.500h2.500M14 5V2.500h-2.500M2 11v2.500h2.500M14 11v2.500h-2.500M4.500 8h7",
  find: "M7 2.500a4.500 4.500 0 1 0 .01 0M10.300 10.300L14 14",
  flag: "M3.500 14.500v-13M3.500 2.500h8.500l-2.200 3 2.200 3H3.500",
  move: "M8 1.500v13M1.500 8h13M6 3.500L8 1.500l2 2M6 12.500l2 2 2-2M3.500 6L1.500 8l2 2M12.500 6l2 2-2 2",
  box: "M2.500 2.500h3M7 2.500h2M10.500 2.500h3v3M13.500 7v2M13.500 10.500v3h-3M9 13.500H7M5.500 13.500h-3v-3M2.500 9V7M2.500 5.500v-3",
  close: "M4 4l8 8M12 4l-8 8",
  previous: "M10 3.500L5.500 8L10 12.500",
  next: "M6 3.500L10.500 8L6 12.500",
  load: "M8 10.500v-8M4.500 6L8 2.500L11.500 6M2.500 13.500h11",
  save: "M8 2v8M4.500 7L8 10.500L11.500 7M2.500 13.500h11",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="tl-icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export interface ToolProps {
  icon: IconName;
  says: string;
  act: () => void;
  pressed?: boolean;
  disabled?: boolean;
  /** Not reached with the tab key: a key does the same. */
  aside?: boolean;
}

export function Tool({ icon, says, act, pressed, disabled, aside }: ToolProps) {
  return (
    <button
      type="button"
      class="tl-tool"
      title={says}
      aria-label={says}
      aria-pressed={pressed}
      disabled={disabled}
      tabIndex={aside ? -1 : undefined}
      onClick={act}
    >
      <Icon name={icon} />
    </button>
  );
}
