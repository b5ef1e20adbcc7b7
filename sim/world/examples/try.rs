use world::{Tape, run, shrink};
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Ok(tape) = arguments[1].parse::<Tape>()
        && arguments[1].len() > 12
    {
        println!("{}\n{:?}", tape.describe(), run(&tape));
        return;
    }
    if arguments[1] == "seed" {
        let tape = Tape::from_seed(arguments[2].parse().unwrap());
        println!("{}\n{tape}", tape.describe());
        return;
    }
    let (from, to): (u64, u64) = (arguments[1].parse().unwrap(), arguments[2].parse().unwrap());
    std::panic::set_hook(Box::new(|_| {}));
    let (mut time, mut failures) = (
        0.0,
        std::collections::BTreeMap::<String, Vec<(u64, String)>>::new(),
    );
    let begun = std::time::Instant::now();
    for seed in from..to {
        if [37].contains(&seed) && arguments.len() > 4 {
            continue;
        }
        let tape = Tape::from_seed(seed);
        let one = std::time::Instant::now();
        match run(&tape) {
            Ok(report) => {
                time += report.time.as_secs_f64();
                if one.elapsed().as_secs_f64() > 2.0 {
                    println!(
                        "seed {seed} took {:?} for {} calls {} {}",
                        one.elapsed(),
                        report.calls,
                        report.time,
                        tape.setting()
                    );
                }
            }
            Err(violation) => failures
                .entry(format!(
                    "{} {}",
                    violation.promise,
                    violation
                        .text
                        .chars()
                        .filter(|c| !c.is_numeric())
                        .take(40)
                        .collect::<String>()
                ))
                .or_default()
                .push((seed, violation.text)),
        }
    }
    println!("{:.0} s virtual in {:?}", time, begun.elapsed());
    for (promise, list) in &failures {
        println!("{promise}: {} failures", list.len());
        for (seed, text) in list.iter().take(4) {
            println!("   {seed}: {}", &text.chars().take(300).collect::<String>());
        }
        if arguments.len() > 3 {
            let tape = Tape::from_seed(list[0].0);
            let violation = run(&tape).unwrap_err();
            let (tape, violation) = shrink(&tape, &violation, 300, &mut |_| {});
            println!("{violation}\n{}\n{tape}", tape.describe());
        }
    }
}
