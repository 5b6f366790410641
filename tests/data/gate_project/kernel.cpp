// Chains of dependent multiplications: their time is their number of steps.
static double Chain(double x, int steps) {
  for (int i = 0; i < steps; ++i) x = x * 0.999999 + 1e-9;
  return x;
}

double Parse(double x) { return Chain(x, 20000); }
double Render(double x) { return Chain(x, 10000); }
