use super::*;

fn step(link: &str) -> UndoStep {
    UndoStep::DeleteLink { link: link.into() }
}

fn lines(lines: &[Line]) -> Vec<u8> {
    lines
        .iter()
        .flat_map(|line| line.to_bytes().unwrap())
        .collect()
}

fn owner() -> Line {
    Line::Owner(Owner {
        pid: 7,
        start_time: 9,
    })
}

#[test]
fn what_is_written_is_read_less_what_is_done() {
    let bytes = lines(&[
        owner(),
        Line::Step(step("a")),
        Line::Step(step("b")),
        Line::Done(0),
    ]);
    let content = parse(&bytes);
    assert_eq!(
        content.owner,
        Some(Owner {
            pid: 7,
            start_time: 9
        })
    );
    assert_eq!(content.steps, [step("b")]);
    assert!(content.damage.is_empty(), "{:?}", content.damage);
}

#[test]
fn any_cut_keeps_the_whole_lines() {
    let bytes = lines(&[owner(), Line::Step(step("a")), Line::Step(step("b"))]);
    for cut in 0..bytes.len() {
        let content = parse(&bytes[..cut]);
        let ends = bytes[..cut].split(|byte| *byte == b'\n').count() - 1;
        assert!(
            content.steps.len() >= ends.saturating_sub(1),
            "cut at {cut}"
        );
        assert!(content.steps.len() <= ends, "cut at {cut}");
    }
}

#[test]
fn garbage_is_told_and_keeps_the_numbers_of_other_steps() {
    let mut bytes = b"\xff\x00no owner\n".to_vec();
    bytes.extend(lines(&[Line::Step(step("a"))]));
    bytes.extend(b"{\"step\":{\"do\":\"format_disk\"}}\n");
    bytes.extend(lines(&[
        Line::Step(step("b")),
        Line::Step(step("c")),
        Line::Done(2),
        Line::Done(99),
    ]));
    bytes.extend(b"{\"step\":");
    let content = parse(&bytes);
    assert_eq!(content.steps, [step("a"), step("c")]);
    assert_eq!(content.damage.len(), 2, "{:?}", content.damage);
}

#[test]
fn a_huge_file_is_not_read_to_its_end() {
    let bytes = vec![b'x'; LARGEST as usize + 1];
    let content = parse(&bytes);
    assert!(content.steps.is_empty());
    assert!(
        content
            .damage
            .iter()
            .any(|reason| reason.contains("larger")),
        "{:?}",
        content.damage
    );
}

#[test]
fn only_the_same_process_counts_as_alive() {
    let this = Owner::this_process().unwrap();
    assert!(this.is_alive());
    assert!(
        !Owner {
            start_time: this.start_time + 1,
            ..this
        }
        .is_alive()
    );
    assert!(
        !Owner {
            pid: u32::MAX,
            start_time: 1
        }
        .is_alive()
    );
}
