//! Reading takes no memory, whatever a peer claims.

use nfs::mount::ExportList;
use nfs::{
    Answer, Call, EntryPlus, FileHandle, Limits, List, ListedName, Numbered, Outcome, PagePlus,
    Procedure, ReadDirectoryPlus, Value, write_list,
};

/// A page of a directory with `count` entries.
fn page(count: u64) -> Vec<u8> {
    let entries = (0..count).map(|number| EntryPlus {
        file_id: number,
        name: ListedName::new(b"name"),
        cookie: number + 1,
        attributes: None,
        object: FileHandle::new(&[7; 28]),
    });
    let mut list = Vec::new();
    write_list(entries, usize::MAX, &mut list);
    let page: Answer<ReadDirectoryPlus> = Outcome::Done(PagePlus {
        attributes: None,
        verifier: nfs::CookieVerifier::default(),
        entries: List::encoded(&list).expect("a list"),
        end_of_directory: true,
    });
    let mut bytes = Vec::new();
    page.encode(&mut bytes);
    bytes
}

#[test]
fn reading_allocates_nothing() {
    let page = page(500);
    let huge = [0xff; 4_096];
    let ones: Vec<u8> = [0, 0, 0, 1].repeat(2_000);
    let measured = allocation_counter::measure(|| {
        let read = Answer::<ReadDirectoryPlus>::decode(&page, &Limits::USUAL).expect("a page");
        let read = read.done().expect("done");
        assert_eq!(
            read.entries
                .iter()
                .filter(|entry| entry.object.is_some())
                .count(),
            500
        );
        for bytes in [&page[..], &huge, &ones] {
            for &procedure in Procedure::ALL {
                let _ = Call::read(procedure, bytes, &Limits::USUAL);
            }
            let _ = Answer::<nfs::Read>::decode(bytes, &Limits::USUAL);
            let _ = Answer::<ReadDirectoryPlus>::decode(bytes, &Limits::USUAL);
            let _ = ExportList::decode(bytes, &Limits::USUAL);
        }
    });
    assert_eq!(measured.count_total, 0);
}
