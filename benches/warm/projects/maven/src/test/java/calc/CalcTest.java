package calc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class CalcTest {
    @Test
    void adds() {
        assertEquals(5, Calc.add(2, 3));
    }

    @Test
    void findsTheBiggest() {
        assertEquals(5, Calc.biggest(new int[] {1, 5, 3}));
    }
}
