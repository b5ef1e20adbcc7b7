//! The results of every procedure, done and failed.

use nfs::{
    AccessAnswer, AccessRights, BlockSizes, Committed, Created, FileSystemProperties, Linked,
    LookedUp, NameRules, ReadData, Renamed, ServerAbilities, Space, Stability, Target,
    WriteVerifier, Written,
};
use nfs3_types::nfs3 as theirs;
use nfs3_types::xdr_codec::{Opaque, Void};
use proptest::option;
use proptest::prelude::*;

use super::agreement::agree;
use super::samples::{
    attributes, bytes, handle, numbered, outcome, path, some_attributes, time, weak_cache_data,
};
use super::theirs::{Theirs, result};

fn created() -> impl Strategy<Value = Created> {
    let parts = (option::of(handle()), some_attributes(), weak_cache_data());
    parts.prop_map(|(object, attributes, directory)| Created {
        object,
        attributes,
        directory,
    })
}

fn looked_up() -> impl Strategy<Value = LookedUp> {
    let parts = (handle(), some_attributes(), some_attributes());
    parts.prop_map(|(object, attributes, directory)| LookedUp {
        object,
        attributes,
        directory,
    })
}

fn space() -> impl Strategy<Value = Space> {
    let parts = (some_attributes(), any::<[u64; 6]>(), any::<u32>());
    parts.prop_map(|(attributes, numbers, unchanged_seconds)| Space {
        attributes,
        total_bytes: numbers[0],
        free_bytes: numbers[1],
        available_bytes: numbers[2],
        total_files: numbers[3],
        free_files: numbers[4],
        available_files: numbers[5],
        unchanged_seconds,
    })
}

fn block_sizes() -> impl Strategy<Value = BlockSizes> {
    any::<(u32, u32, u32)>().prop_map(|(maximum, preferred, multiple)| BlockSizes {
        maximum,
        preferred,
        multiple,
    })
}

fn abilities() -> impl Strategy<Value = ServerAbilities> {
    let numbers = any::<(u32, u64, u32)>();
    let parts = (
        some_attributes(),
        block_sizes(),
        block_sizes(),
        time(),
        numbers,
    );
    parts.prop_map(
        |(attributes, read, write, time_resolution, numbers)| ServerAbilities {
            attributes,
            read,
            write,
            directory_preferred: numbers.0,
            largest_file: numbers.1,
            time_resolution,
            properties: FileSystemProperties { bits: numbers.2 },
        },
    )
}

fn name_rules() -> impl Strategy<Value = NameRules> {
    let parts = (some_attributes(), any::<(u32, u32)>(), any::<[bool; 4]>());
    parts.prop_map(|(attributes, numbers, rules)| NameRules {
        attributes,
        links_maximum: numbers.0,
        name_maximum: numbers.1,
        refuses_long_names: rules[0],
        restricts_owner_changes: rules[1],
        ignores_case: rules[2],
        keeps_case: rules[3],
    })
}

fn read_data() -> impl Strategy<Value = ReadData<'static>> {
    let parts = (some_attributes(), any::<bool>(), bytes(700));
    parts.prop_map(|(attributes, end_of_file, data)| ReadData {
        attributes,
        end_of_file,
        data,
    })
}

fn written() -> impl Strategy<Value = Written> {
    let numbers = (any::<u32>(), numbered::<Stability>(), any::<[u8; 8]>());
    (weak_cache_data(), numbers).prop_map(|(file, (count, stability, verifier))| Written {
        file,
        count,
        stability,
        verifier: WriteVerifier(verifier),
    })
}

proptest! {
    #[test]
    fn of_files(
        got in outcome(attributes(), Just(())),
        set in outcome(weak_cache_data(), weak_cache_data()),
        access in outcome((some_attributes(), any::<u32>()), some_attributes()),
        link in outcome((some_attributes(), path()), some_attributes()),
    ) {
        agree(&got, &result(&got, |done| theirs::GETATTR3resok { obj_attributes: done.theirs() }, |()| Void));
        agree(&set, &result(
            &set,
            |done| theirs::SETATTR3resok { obj_wcc: done.theirs() },
            |rest| theirs::SETATTR3resfail { obj_wcc: rest.theirs() },
        ));
        let ours = map(access, |(attributes, bits)| AccessAnswer { attributes, rights: AccessRights { bits } });
        agree(&ours, &result(
            &ours,
            |done| theirs::ACCESS3resok {
                obj_attributes: done.attributes.theirs(),
                access: done.rights.bits,
            },
            |rest| theirs::ACCESS3resfail { obj_attributes: rest.theirs() },
        ));
        let ours = map(link, |(attributes, path)| Target { attributes, path });
        agree(&ours, &result(
            &ours,
            |done| theirs::READLINK3resok {
                symlink_attributes: done.attributes.theirs(),
                data: done.path.theirs(),
            },
            |rest| theirs::READLINK3resfail { symlink_attributes: rest.theirs() },
        ));
    }

    #[test]
    fn of_names(
        found in outcome(looked_up(), some_attributes()),
        removed in outcome(weak_cache_data(), weak_cache_data()),
        two in (weak_cache_data(), weak_cache_data(), some_attributes()),
    ) {
        agree(&found, &result(
            &found,
            |done| theirs::LOOKUP3resok {
                object: done.object.theirs(),
                obj_attributes: done.attributes.theirs(),
                dir_attributes: done.directory.theirs(),
            },
            |rest| theirs::LOOKUP3resfail { dir_attributes: rest.theirs() },
        ));
        agree(&removed, &result(
            &removed,
            |done| theirs::REMOVE3resok { dir_wcc: done.theirs() },
            |rest| theirs::REMOVE3resfail { dir_wcc: rest.theirs() },
        ));
        agree(&removed, &result(
            &removed,
            |done| theirs::RMDIR3resok { dir_wcc: done.theirs() },
            |rest| theirs::RMDIR3resfail { dir_wcc: rest.theirs() },
        ));
        let renamed = map_both(&removed, Renamed { from: two.0, to: two.1 });
        agree(&renamed, &result(
            &renamed,
            |done| theirs::RENAME3resok { fromdir_wcc: done.from.theirs(), todir_wcc: done.to.theirs() },
            |rest| theirs::RENAME3resfail { fromdir_wcc: rest.from.theirs(), todir_wcc: rest.to.theirs() },
        ));
        let linked = map_both(&removed, Linked { attributes: two.2, directory: two.0 });
        agree(&linked, &result(
            &linked,
            |done| theirs::LINK3resok {
                file_attributes: done.attributes.theirs(),
                linkdir_wcc: done.directory.theirs(),
            },
            |rest| theirs::LINK3resfail {
                file_attributes: rest.attributes.theirs(),
                linkdir_wcc: rest.directory.theirs(),
            },
        ));
    }

    #[test]
    fn of_creation(ours in outcome(created(), weak_cache_data())) {
        macro_rules! agree_as {
            ($done:ident, $failed:ident) => {
                agree(&ours, &result(
                    &ours,
                    |done| theirs::$done {
                        obj: done.object.theirs(),
                        obj_attributes: done.attributes.theirs(),
                        dir_wcc: done.directory.theirs(),
                    },
                    |rest| theirs::$failed { dir_wcc: rest.theirs() },
                ));
            };
        }
        agree_as!(CREATE3resok, CREATE3resfail);
        agree_as!(MKDIR3resok, MKDIR3resfail);
        agree_as!(SYMLINK3resok, SYMLINK3resfail);
        agree_as!(MKNOD3resok, MKNOD3resfail);
    }

    #[test]
    fn of_data(
        read in outcome(read_data(), some_attributes()),
        written in outcome(written(), weak_cache_data()),
    ) {
        agree(&read, &result(
            &read,
            |done| theirs::READ3resok {
                file_attributes: done.attributes.theirs(),
                count: done.data.len() as u32,
                eof: done.end_of_file,
                data: Opaque::borrowed(done.data),
            },
            |rest| theirs::READ3resfail { file_attributes: rest.theirs() },
        ));
        agree(&written, &result(
            &written,
            |done| theirs::WRITE3resok {
                file_wcc: done.file.theirs(),
                count: done.count,
                committed: done.stability.theirs(),
                verf: theirs::writeverf3(done.verifier.0),
            },
            |rest| theirs::WRITE3resfail { file_wcc: rest.theirs() },
        ));
        let committed = map(written, |written| Committed { file: written.file, verifier: written.verifier });
        agree(&committed, &result(
            &committed,
            |done| theirs::COMMIT3resok {
                file_wcc: done.file.theirs(),
                verf: theirs::writeverf3(done.verifier.0),
            },
            |rest| theirs::COMMIT3resfail { file_wcc: rest.theirs() },
        ));
    }

    #[test]
    fn of_file_systems(
        space in outcome(space(), some_attributes()),
        abilities in outcome(abilities(), some_attributes()),
        rules in outcome(name_rules(), some_attributes()),
    ) {
        agree(&space, &result(
            &space,
            |done| theirs::FSSTAT3resok {
                obj_attributes: done.attributes.theirs(),
                tbytes: done.total_bytes,
                fbytes: done.free_bytes,
                abytes: done.available_bytes,
                tfiles: done.total_files,
                ffiles: done.free_files,
                afiles: done.available_files,
                invarsec: done.unchanged_seconds,
            },
            |rest| theirs::FSSTAT3resfail { obj_attributes: rest.theirs() },
        ));
        agree(&abilities, &result(
            &abilities,
            |done| theirs::FSINFO3resok {
                obj_attributes: done.attributes.theirs(),
                rtmax: done.read.maximum,
                rtpref: done.read.preferred,
                rtmult: done.read.multiple,
                wtmax: done.write.maximum,
                wtpref: done.write.preferred,
                wtmult: done.write.multiple,
                dtpref: done.directory_preferred,
                maxfilesize: done.largest_file,
                time_delta: done.time_resolution.theirs(),
                properties: done.properties.bits,
            },
            |rest| theirs::FSINFO3resfail { obj_attributes: rest.theirs() },
        ));
        agree(&rules, &result(
            &rules,
            |done| theirs::PATHCONF3resok {
                obj_attributes: done.attributes.theirs(),
                linkmax: done.links_maximum,
                name_max: done.name_maximum,
                no_trunc: done.refuses_long_names,
                chown_restricted: done.restricts_owner_changes,
                case_insensitive: done.ignores_case,
                case_preserving: done.keeps_case,
            },
            |rest| theirs::PATHCONF3resfail { obj_attributes: rest.theirs() },
        ));
    }
}

/// The outcome with what was done in other words.
fn map<D, E, F>(outcome: nfs::Outcome<D, F>, words: impl FnOnce(D) -> E) -> nfs::Outcome<E, F> {
    match outcome {
        nfs::Outcome::Done(done) => nfs::Outcome::Done(words(done)),
        nfs::Outcome::Failed { status, rest } => nfs::Outcome::Failed { status, rest },
    }
}

/// The outcome with `value` in either case.
fn map_both<D, F, T>(outcome: &nfs::Outcome<D, F>, value: T) -> nfs::Outcome<T, T> {
    match outcome {
        nfs::Outcome::Done(_) => nfs::Outcome::Done(value),
        nfs::Outcome::Failed { status, .. } => nfs::Outcome::Failed {
            status: *status,
            rest: value,
        },
    }
}
