//! Sizes of keys and values in Facebook's pool ETC, after B. Atikoglu, Y. Xu, E. Frachtenberg, S. Jiang, M. Paleczny:
//! Workload Analysis of a Large-Scale Key-Value Store, SIGMETRICS 2012, section 5. Each from numbers of (0, 1] that are
//! drawn evenly; whoever asks rounds and bounds what is told.

/// Generalised extreme value distribution of key sizes: location, scale, shape.
const KEY_GEV: (f64, f64, f64) = (30.7984, 8.20449, 0.078688);
/// Generalised Pareto distribution of value sizes from 15 bytes up: location, scale, shape.
const VALUE_GPD: (f64, f64, f64) = (15.0, 214.476, 0.348238);
/// Probabilities of values of 0 to 14 bytes.
const SMALL_VALUES: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837,
    0.00837, 0.08989, 0.00092, 0.00326, 0.01980,
];

/// Bytes of a key.
pub fn key_size(uniform: f64) -> f64 {
    let (location, scale, shape) = KEY_GEV;
    location + scale * ((-uniform.ln()).powf(-shape) - 1.0) / shape
}

/// Bytes of a value: one of the small ones, or how large it is.
pub fn value_size(mut which: f64, uniform: f64) -> f64 {
    for (size, probability) in SMALL_VALUES.iter().enumerate() {
        which -= probability;
        if which <= 0.0 {
            return size as f64;
        }
    }
    let (location, scale, shape) = VALUE_GPD;
    location + scale * (uniform.powf(-shape) - 1.0) / shape
}
