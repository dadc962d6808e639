/** Light, dark, or as the system says; the choice is kept where the browser allows it. */

const KEY = "ascend-sn-appearance";
const CHOICES = ["system", "light", "dark"] as const;

type Choice = (typeof CHOICES)[number];

export function addAppearance(bar: Element, texts: (name: string) => string, changed: () => void): void {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "appearance";
  let choice = kept();
  const apply = (): void => {
    if (choice === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = choice;
    button.textContent = texts(`appearance.${choice}`);
  };
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length] ?? "system";
    keep(choice);
    apply();
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  apply();
  bar.append(button);
}

function kept(): Choice {
  try {
    return CHOICES.find((one) => one === localStorage.getItem(KEY)) ?? "system";
  } catch {
    return "system"; // some browsers keep nothing for pages that were opened as files
  }
}

function keep(choice: Choice): void {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // then it holds for this page only
  }
}
