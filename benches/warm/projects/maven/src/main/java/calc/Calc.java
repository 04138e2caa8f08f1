package calc;

public class Calc {
    public static int add(int a, int b) {
        return a + b;
    }

    public static int biggest(int[] values) {
        int best = values[0];
        for (int value : values) {
            if (value > best) {
                best = value;
            }
        }
        return best;
    }
}
